as_user ./coati record true
echo $?
as_user ./coati record -a true
echo $?
as_user ./coati record -q -m 64M -e cpu-clock:u true
echo $?
